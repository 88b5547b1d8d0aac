"""What public topics carry: JSON and pictures as other programs write and read them."""
