"""The page: plain HTML, CSS and JavaScript, no build step."""
