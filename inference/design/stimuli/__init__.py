"""What the profiles of a design look like to a judge."""

from .post_files import load_posts, profile_values
from .posts import PostKit

__all__ = ["PostKit", "load_posts", "profile_values"]
