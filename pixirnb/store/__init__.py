"""What has happened is remembered here: on a disk, or in memory."""
