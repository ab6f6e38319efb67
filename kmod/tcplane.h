/* SPDX-License-Identifier: GPL-2.0 */
/* TCP connections between two hosts' kernels, the last carrier: see tcplane.c. */
#ifndef KRCORE_TCPLANE_H
#define KRCORE_TCPLANE_H

struct kr_host;

/* Without a listener the host only asks.  Return: 0 or -ENOMEM.  Context: may sleep. */
int kr_tcp_init(void);
/* No new ones from here on.  Context: may sleep. */
void kr_tcp_stop(void);
/* All hosts and carriers are gone.  Context: may sleep. */
void kr_tcp_exit(void);

/*
 * Begins a connection to @host, at the address of its last path, unless it has a
 * carrier or one is being made.  What comes of it shows as a lane.
 * Context: may sleep.  Return: 0 or -errno.
 */
int kr_tcp_ask(struct kr_host *host);

#endif
