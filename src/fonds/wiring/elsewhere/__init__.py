"""What is reached on other machines: files a person names, and an old system's downloads."""
