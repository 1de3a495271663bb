"""ROS 2 bags and MCAP files: messages, their storage, and records from and to them."""
