"""What the Python array API standard asks for beside the operations."""
