"""What should happen?"""
