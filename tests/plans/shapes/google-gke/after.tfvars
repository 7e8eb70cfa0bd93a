channel = "STABLE"
