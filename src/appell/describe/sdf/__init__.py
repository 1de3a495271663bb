"""The model part of SDF, the format of Gazebo and Drake."""

from appell.describe.sdf.read import read_sdf

__all__ = ["read_sdf"]
