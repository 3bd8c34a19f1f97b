"""What stands for (∇²L_k + S)⁻¹ of every fold: one file for each way to have it."""
