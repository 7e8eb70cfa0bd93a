channel = "REGULAR"
