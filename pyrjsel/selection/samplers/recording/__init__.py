"""Draws as they are recorded, and the averages over models that posteriors are made of."""
