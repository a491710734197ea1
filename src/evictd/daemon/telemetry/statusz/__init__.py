"""Makes the document of `/statusz`."""
