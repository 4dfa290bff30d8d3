def seed():
    pass
