// SPDX-License-Identifier: MIT
/* krcorectl host: the associations with remote hosts, and the path of each. */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <inttypes.h>
#include <string.h>

static const struct ctl_field fields[] = {
	{ KRCORE_HOST_A_INSTANCE, CTL_BYTES, "instance", NULL, 0 },
	{ KRCORE_HOST_A_PATH, CTL_STRING, "path", NULL, 0 },
	{ KRCORE_HOST_A_VQPS, CTL_U32, "vqps", NULL, 0 },
	{ KRCORE_HOST_A_DEV, CTL_STRING, "dev", NULL, 0 },
	{ KRCORE_HOST_A_MTU, CTL_U32, "mtu", NULL, 0 },
	{ KRCORE_HOST_A_LOCAL_GID, CTL_ADDR, "lgid", NULL, 0 },
	{ KRCORE_HOST_A_LOCAL_QPN, CTL_U32, "lqpn", NULL, 0 },
	{ KRCORE_HOST_A_REMOTE_GID, CTL_ADDR, "rgid", NULL, 0 },
	{ KRCORE_HOST_A_REMOTE_QPN, CTL_U32, "rqpn", NULL, 0 },
	{ KRCORE_HOST_A_SRTT_US, CTL_U32, "srtt_us", NULL, 0 },
	{ KRCORE_HOST_A_RTTVAR_US, CTL_U32, "rttvar_us", NULL, 0 },
	{ KRCORE_HOST_A_CWND, CTL_U32, "cwnd", NULL, 0 },
	{ KRCORE_HOST_A_INFLIGHT, CTL_U32, "inflight", NULL, 0 },
	{ KRCORE_HOST_A_TX_PACKETS, CTL_U64, "tx_packets", NULL, 0 },
	{ KRCORE_HOST_A_TX_BYTES, CTL_U64, "tx_bytes", NULL, 0 },
	{ KRCORE_HOST_A_RX_PACKETS, CTL_U64, "rx_packets", NULL, 0 },
	{ KRCORE_HOST_A_RX_BYTES, CTL_U64, "rx_bytes", NULL, 0 },
	{ KRCORE_HOST_A_LOST, CTL_U64, "lost", NULL, 0 },
	{ KRCORE_HOST_A_SPURIOUS, CTL_U64, "spurious", NULL, 0 },
	{ KRCORE_HOST_A_PTO, CTL_U64, "pto", NULL, 0 },
	{ KRCORE_HOST_A_DUP, CTL_U64, "dup", NULL, 0 },
	{ KRCORE_HOST_A_MALFORMED, CTL_U64, "malformed", NULL, 0 },
	{ KRCORE_HOST_A_REFUSED, CTL_U64, "refused", NULL, 0 },
	{ KRCORE_HOST_A_UNKNOWN, CTL_U64, "unknown", NULL, 0 },
	{ KRCORE_HOST_A_LANES, CTL_U32, "lanes", NULL, 0 },
};

struct json_object *ctl_host_read(struct nlattr **attrs)
{
	return ctl_fields_read(attrs, fields, sizeof(fields) / sizeof(*fields));
}

/* Where a new line begins in the text. */
static bool starts_line(const char *key)
{
	return strcmp(key, "dev") == 0 || strcmp(key, "srtt_us") == 0 ||
	       strcmp(key, "tx_packets") == 0 || strcmp(key, "lost") == 0;
}

/* A line of "key value" for each group of the fields; absent ones are left out. */
static void print_host(FILE *out, struct json_object *host, bool is_human)
{
	const char *before = "host ";

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const char *key = fields[i].key;
		char text[CTL_SIZE_LEN];

		if (starts_line(key))
			before = "\n    ";
		if (!json_object_object_get(host, key))
			continue;
		fputs(before, out);
		before = " ";
		if (i > 0)
			fprintf(out, "%s ", key);
		if (strstr(key, "_bytes"))
			fputs(ctl_size(text, ctl_number(host, key), is_human), out);
		else
			fputs(ctl_string(host, key), out);
	}
	fputc('\n', out);
}

void ctl_host_print(FILE *out, struct json_object *hosts,
		    const struct ctl_options *opts)
{
	if (json_object_array_length(hosts) == 0)
		fputs("no remote hosts\n", out);
	for (size_t i = 0; i < json_object_array_length(hosts); i++)
		print_host(out, json_object_array_get_idx(hosts, i),
			   opts->is_human);
}

static void on_host(struct nlattr **attrs, void *ctx)
{
	json_object_array_add(ctx, ctl_host_read(attrs));
}

enum ctl_exit ctl_run_host(const struct ctl_options *opts)
{
	struct json_object *hosts = json_object_new_array();
	int err;

	err = ctl_genl_ask(KRCORE_CMD_GET_HOSTS, true, KRCORE_HOST_A_MAX, on_host,
			   hosts);
	if (!err && opts->is_json)
		ctl_json_print(stdout, hosts);
	else if (!err)
		ctl_host_print(stdout, hosts, opts);
	json_object_put(hosts);
	return err ? ctl_genl_failed(err) : CTL_OK;
}
