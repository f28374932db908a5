"""Who sits where: the blocks of entries that both stores share, and the stores."""
