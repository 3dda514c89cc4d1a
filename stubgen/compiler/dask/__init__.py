"""Worker processes of a Dask cluster; they need the extra ``dask``."""
