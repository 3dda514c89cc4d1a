"""The measurements that README quotes; ``nox -s bench`` runs them."""
