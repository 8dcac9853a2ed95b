"""What each kind of serving system needs, assumed beside measured."""
