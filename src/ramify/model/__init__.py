"""The words everyone uses. Standard library and msgspec only; no input or output."""
