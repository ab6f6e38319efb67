# kmod: build rules
