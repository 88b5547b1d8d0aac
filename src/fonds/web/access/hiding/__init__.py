"""What readers are not shown: files under embargo, and files that were taken down."""
