"""Sweeps: how the time and the counts of a pop grow with payload, queue depth and refused rows ahead."""
