// SPDX-License-Identifier: MIT
/* krcorectl show: the connections of this network namespace, as ss(8) does it. */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* By the numbers of netinet/tcp.h, in the words of ss(8). */
static const char *const states[] = {
	[1] = "ESTAB", [2] = "SYN-SENT", [3] = "SYN-RECV", [4] = "FIN-WAIT-1",
	[5] = "FIN-WAIT-2", [6] = "TIME-WAIT", [7] = "UNCONN",
	[8] = "CLOSE-WAIT", [9] = "LAST-ACK", [10] = "LISTEN",
	[11] = "CLOSING", [12] = "SYN-RECV",
};

static const char *const carriers[__KRCORE_CARRIER_END] = {
	[KRCORE_CARRIER_NONE] = "none",
	[KRCORE_CARRIER_UD] = "ud",
	[KRCORE_CARRIER_RC] = "rc",
	[KRCORE_CARRIER_LOCAL] = "local",
	[KRCORE_CARRIER_TCP] = "tcp",
	[KRCORE_CARRIER_TCP_LANE] = "tcp-lane",
};

static const char *const roles[__KRCORE_ROLE_END] = {
	[KRCORE_ROLE_CLIENT] = "client",
	[KRCORE_ROLE_SERVER] = "server",
	[KRCORE_ROLE_LISTENER] = "listener",
};

#define NAMES(array) array, sizeof(array) / sizeof(*(array))

static const struct ctl_field fields[] = {
	{ KRCORE_CONN_A_STATE, CTL_NAME, "state", NAMES(states) },
	{ KRCORE_CONN_A_CARRIER, CTL_NAME, "carrier", NAMES(carriers) },
	{ KRCORE_CONN_A_ROLE, CTL_NAME, "role", NAMES(roles) },
	{ KRCORE_CONN_A_SADDR, CTL_ADDR, "local_addr", NULL, 0 },
	{ KRCORE_CONN_A_SPORT, CTL_U16, "local_port", NULL, 0 },
	{ KRCORE_CONN_A_DADDR, CTL_ADDR, "peer_addr", NULL, 0 },
	{ KRCORE_CONN_A_DPORT, CTL_U16, "peer_port", NULL, 0 },
	{ KRCORE_CONN_A_TX_RDMA, CTL_U64, "tx_rdma", NULL, 0 },
	{ KRCORE_CONN_A_RX_RDMA, CTL_U64, "rx_rdma", NULL, 0 },
	{ KRCORE_CONN_A_TX_LOCAL, CTL_U64, "tx_local", NULL, 0 },
	{ KRCORE_CONN_A_RX_LOCAL, CTL_U64, "rx_local", NULL, 0 },
	{ KRCORE_CONN_A_TX_TCP, CTL_U64, "tx_tcp", NULL, 0 },
	{ KRCORE_CONN_A_RX_TCP, CTL_U64, "rx_tcp", NULL, 0 },
	{ KRCORE_CONN_A_REASON, CTL_STRING, "reason", NULL, 0 },
	{ KRCORE_CONN_A_RX_QUEUE, CTL_U32, "rx_queue", NULL, 0 },
	{ KRCORE_CONN_A_TX_QUEUE, CTL_U32, "tx_queue", NULL, 0 },
	{ KRCORE_CONN_A_VQP, CTL_ID, "vqp", NULL, 0 },
	{ KRCORE_CONN_A_HOST, CTL_ID, "host", NULL, 0 },
	{ KRCORE_CONN_A_UID, CTL_U32, "uid", NULL, 0 },
	{ KRCORE_CONN_A_INODE, CTL_U64, "inode", NULL, 0 },
	{ KRCORE_CONN_A_AGE_MS, CTL_U64, "age_ms", NULL, 0 },
};

struct json_object *ctl_show_read(struct nlattr **attrs)
{
	return ctl_fields_read(attrs, fields, sizeof(fields) / sizeof(*fields));
}

/* Names for an address and a port, if there are any. */
static void resolve(const char *addr, uint64_t port, char *host, socklen_t host_room,
		    char *service, socklen_t service_room)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	sin.sin_port = sin6.sin6_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, addr, &sin.sin_addr) == 1)
		getnameinfo((struct sockaddr *)&sin, sizeof(sin), host, host_room,
			    service, service_room, 0);
	else if (inet_pton(AF_INET6, addr, &sin6.sin6_addr) == 1)
		getnameinfo((struct sockaddr *)&sin6, sizeof(sin6), host,
			    host_room, service, service_room, 0);
}

static bool is_any(const char *addr)
{
	return strcmp(addr, "0.0.0.0") == 0 || strcmp(addr, "::") == 0;
}

static void add_end(struct ctl_table *t, struct json_object *conn,
		    const char *addr_key, const char *port_key, bool with_names)
{
	const char *addr = ctl_string(conn, addr_key);
	uint64_t port = ctl_number(conn, port_key);
	char host[NI_MAXHOST], service[NI_MAXSERV] = "*";

	snprintf(host, sizeof(host), strchr(addr, ':') ? "[%s]" : "%s", addr);
	if (port)
		snprintf(service, sizeof(service), "%" PRIu64, port);
	if (with_names && port && !is_any(addr))
		resolve(addr, port, host, sizeof(host), service, sizeof(service));
	ctl_table_cell(t, "%s:%s", host, service);
}

static void add_processes(struct ctl_table *t, struct json_object *conn)
{
	struct json_object *processes = json_object_object_get(conn, "processes");
	size_t nr = processes ? json_object_array_length(processes) : 0;
	char text[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		struct json_object *p = json_object_array_get_idx(processes, i);
		int len = snprintf(text + used, sizeof(text) - used,
				   "%s%s(pid %" PRIu64 ", fd %" PRIu64 ")",
				   i ? " " : "", ctl_string(p, "name"),
				   ctl_number(p, "pid"), ctl_number(p, "fd"));

		if (len < 0 || (size_t)len >= sizeof(text) - used) {
			text[used] = '\0';
			break;
		}
		used += (size_t)len;
	}
	ctl_table_cell(t, "%s", text);
}

static void add_conn(struct ctl_table *t, struct json_object *conn,
		     const struct ctl_options *opts)
{
	static const char *const sizes[] = {
		"tx_rdma", "rx_rdma", "tx_local", "rx_local", "tx_tcp", "rx_tcp",
	};
	const char *reason = ctl_string(conn, "reason");
	char text[CTL_SIZE_LEN];

	ctl_table_cell(t, "%s", ctl_string(conn, "state"));
	ctl_table_cell(t, "%s", ctl_string(conn, "carrier"));
	add_end(t, conn, "local_addr", "local_port", opts->with_names);
	add_end(t, conn, "peer_addr", "peer_port", opts->with_names);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		ctl_table_cell(t, "%s", ctl_size(text, ctl_number(conn, sizes[i]),
						 opts->is_human));
	ctl_table_cell(t, "%s", *reason ? reason : "-");
	if (opts->with_processes)
		add_processes(t, conn);
}

void ctl_show_print(FILE *out, struct json_object *conns,
		    const struct ctl_options *opts)
{
	static const char *const heads[] = {
		"State", "Carrier", "Local", "Peer", "Tx-RDMA", "Rx-RDMA",
		"Tx-local", "Rx-local", "Tx-TCP", "Rx-TCP", "Reason", "Process",
	};
	size_t nr_heads = opts->with_processes ? 12 : 11;
	struct ctl_table t;

	ctl_table_init(&t, opts->with_processes ? "llllrrrrrrll" : "llllrrrrrrl");
	for (size_t i = 0; i < nr_heads; i++)
		ctl_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < json_object_array_length(conns); i++)
		add_conn(&t, json_object_array_get_idx(conns, i), opts);
	ctl_table_print(&t, out, "");
	ctl_table_clean(&t);
}

/* What a dump of connections is collected in. */
struct collect {
	const struct ctl_options *opts;
	struct json_object *conns;
};

static void on_conn(struct nlattr **attrs, void *ctx)
{
	struct collect *collect = ctx;
	struct json_object *conn = ctl_show_read(attrs);

	if (!collect->opts->with_listeners &&
	    strcmp(ctl_string(conn, "role"), "listener") == 0)
		json_object_put(conn);
	else
		json_object_array_add(collect->conns, conn);
}

enum ctl_exit ctl_run_show(const struct ctl_options *opts)
{
	struct collect collect = { opts, json_object_new_array() };
	int err;

	err = ctl_genl_ask(KRCORE_CMD_GET_CONNS, true, KRCORE_CONN_A_MAX, on_conn,
			   &collect);
	if (!err) {
		if (opts->with_processes)
			ctl_process_find(collect.conns);
		if (opts->is_json)
			ctl_json_print(stdout, collect.conns);
		else
			ctl_show_print(stdout, collect.conns, opts);
	}
	json_object_put(collect.conns);
	return err ? ctl_genl_failed(err) : CTL_OK;
}
