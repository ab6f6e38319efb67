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
 * `total` until the byte was back.  The first connections, which
 * find peers and fill caches, are made but not counted; the very first one is
 * told apart.  Prints JSON: percentiles, then all samples.
 *
 * Plain blocking sockets on purpose: krcore-run or another preloaded library
 * decides what they run on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_DEFAULT = 100, COUNT_MAX = 100000, NR_WARM_UP = 5, BACKLOG = 64 };

struct sample {
	double connect_us;
	double total_us;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "connect: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
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
	double start = now_us(), connected;
	char byte = 'x';
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sample s;

	if (fd < 0)
		die("socket");
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("connect");
	connected = now_us();
	s.connect_us = connected - start;
	no_delay(fd);
	if (send(fd, &byte, 1, 0) != 1)
		die("send");
	if (recv(fd, &byte, 1, 0) != 1)
		die("recv");
	s.total_us = now_us() - start;
	close(fd);
	return s;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_values(const char *name, double *values, int nr)
{
	printf("  \"%s_us\": {\"samples\": [", name);
	for (int i = 0; i < nr; i++)
		printf("%s%.1f", i ? ", " : "", values[i]);
	qsort(values, nr, sizeof(*values), compare);
	printf("],\n    \"min\": %.1f, \"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}",
	       values[0], values[nr / 2], values[nr * 99 / 100],
	       values[nr - 1]);
}

static int client(const struct sockaddr_in *to, int count)
{
	double *connects = calloc(count, sizeof(*connects));
	double *totals = calloc(count, sizeof(*totals));
	struct sample s, first = { 0 };

	if (!connects || !totals)
		die("memory");
	for (int i = -NR_WARM_UP; i < count; i++) {
		s = one(to);
		if (i == -NR_WARM_UP)
			first = s;
		if (i < 0)
			continue;
		connects[i] = s.connect_us;
		totals[i] = s.total_us;
	}
	printf("{\n  \"count\": %d, \"first_connect_us\": %.1f, \"first_total_us\": %.1f,\n",
	       count, first.connect_us, first.total_us);
	print_values("connect", connects, count);
	printf(",\n");
	print_values("total", totals, count);
	printf("\n}\n");
	free(connects);
	free(totals);
	return 0;
}

int main(int argc, char **argv)
{
	int port = argc > 2 ? atoi(argv[argc > 3 ? 3 : 2]) : 0;
	int count = argc > 4 ? atoi(argv[4]) : COUNT_DEFAULT;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	bool is_port = port > 0 && port < 65536;

	if (argc == 3 && strcmp(argv[1], "server") == 0 && is_port)
		return server(port);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "client") == 0 &&
	    inet_pton(AF_INET, argv[2], &to.sin_addr) == 1 && is_port &&
	    count > 0 && count <= COUNT_MAX)
		return client(&to, count);
	fprintf(stderr, "usage: connect server PORT\n"
		"       connect client ADDRESS PORT [COUNT]\n");
	return 2;
}
