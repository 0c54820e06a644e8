"""What people look at: pictures of traces, of leaks and margins, of certified lengths."""
