"""What tries pixirnb: an auditor of logs, a simulator of whole runs, crashes at every operation. It is not shipped."""
