"""What is behind ``gnomon simulate skeleton``: bodies, how they move, sensors that see them, systems that err."""
