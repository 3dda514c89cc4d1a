"""The machine that the tool runs on: the user's folders, scratch folders, files that changed, extras."""
