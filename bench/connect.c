// SPDX-License-Identifier: MIT
/*
 * connect: how long until a new connection is of use.
 *
 *   connect server PORT
 *   connect client ADDRESS PORT [COUNT]
 *
 * The client makes COUNT connections (default 100), one after the other.  It
 * sends a byte on each, waits for it to come back and closes.  Times are in
 * microseconds: `connect` from before socket() until connect() returned,
 * `total` until the byte was back.  timing.c counts and prints.
 *
 * Plain blocking sockets on purpose: krcore-run or another preloaded library
 * decides what they run on.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "timing.h"

enum { BACKLOG = 64 };

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "connect: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Echoes until the client closes. */
static void serve(int fd)
{
	char byte;

	no_delay(fd);
	while (recv(fd, &byte, 1, 0) == 1)
		if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	close(fd);
}

static int server(in_port_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int on = 1, conn;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0)
		die("bind");
	if (listen(fd, BACKLOG) < 0)
		die("listen");
	for (;;) {
		conn = accept(fd, NULL, NULL);
		if (conn >= 0)
			serve(conn);
		else if (errno != ECONNABORTED && errno != EINTR)
			die("accept");
	}
}

static struct sample one(const struct sockaddr_in *to)
{
	double start = timing_now_us(), connected;
	char byte = 'x';
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sample s;

	if (fd < 0)
		die("socket");
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("connect");
	connected = timing_now_us();
	s.connect_us = connected - start;
	no_delay(fd);
	if (send(fd, &byte, 1, 0) != 1)
		die("send");
	if (recv(fd, &byte, 1, 0) != 1)
		die("recv");
	s.total_us = timing_now_us() - start;
	close(fd);
	return s;
}

int main(int argc, char **argv)
{
	static const struct program program = { "connect", server, one };

	return timing_main(&program, argc, argv);
}
