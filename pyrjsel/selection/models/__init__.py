"""The models that users build."""
