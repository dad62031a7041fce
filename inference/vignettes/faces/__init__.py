"""Pictures of the people in posts: drawn faces, a user's pictures, and silhouettes."""

from .faces import Faces, load_faces

__all__ = ["Faces", "load_faces"]
