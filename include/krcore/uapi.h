/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * krcore: the agreement between kernel and user space.
 *
 * Documentation
 * =============
 *
 * socket(AF_INET | AF_INET6, SOCK_STREAM, IPPROTO_KRCORE)
 *
 *	Makes a socket that talks over RDMA when both ends can and over TCP
 *	otherwise.  It takes the addresses, calls and options of a TCP
 *	socket.  The protocol number is the second of the two that RFC 3692
 *	keeps for experiments.  SO_PROTOCOL reads IPPROTO_KRCORE on it.
 *
 *	EPROTONOSUPPORT: the module is not loaded.
 */
#ifndef KRCORE_UAPI_H
#define KRCORE_UAPI_H

#define IPPROTO_KRCORE	254

#endif /* KRCORE_UAPI_H */
