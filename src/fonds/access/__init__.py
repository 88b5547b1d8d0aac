"""Access to the web pages and API: keys, sessions, sign-in, recorded actions."""
