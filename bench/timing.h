/* SPDX-License-Identifier: MIT */
/* timing.h: what the programs that time new connections have in common. */
#ifndef KRCORE_TIMING_H
#define KRCORE_TIMING_H

#include <netinet/in.h>

/* One connection: microseconds from nothing to connected, to the first echo. */
struct sample {
	double connect_us;
	double total_us;
};

struct program {
	const char *name;
	int (*server)(in_port_t port);
	struct sample (*one)(const struct sockaddr_in *to);
};

double timing_now_us(void);
int timing_main(const struct program *program, int argc, char **argv);

#endif
