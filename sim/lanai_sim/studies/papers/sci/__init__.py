"""SCI-MPICH (Worringen, Gäer and Reker, 2002), measured again."""
