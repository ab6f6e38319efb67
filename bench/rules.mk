# bench: build rules
