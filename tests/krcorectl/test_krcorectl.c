// SPDX-License-Identifier: MIT
/*
 * krcorectl's tables and texts, from messages as the kernel sends them: no
 * module is needed.  Each file of krcorectl has its tests here, in its order.
 */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

/* A message that is being made, and its attributes. */
struct message {
	struct nl_msg *msg;
	struct nlattr *attrs[64];
};

static void message_init(struct message *m)
{
	memset(m, 0, sizeof(*m));
	m->msg = nlmsg_alloc_simple(1, 0);
}

/* Parsed as ctl_genl_ask() does. */
static void message_parse(struct message *m, int max)
{
	cr_assert_eq(nlmsg_parse(nlmsg_hdr(m->msg), 0, m->attrs, max, NULL), 0);
}

static void message_clean(struct message *m)
{
	nlmsg_free(m->msg);
}

/* What @print writes about @json, as a string to be freed. */
static char *printed(void (*print)(FILE *, struct json_object *,
				   const struct ctl_options *),
		     const char *json, const struct ctl_options *opts)
{
	struct json_object *object = json_tokener_parse(json);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(out, object, opts);
	fclose(out);
	json_object_put(object);
	return text;
}

static void expect_printed(void (*print)(FILE *, struct json_object *,
					 const struct ctl_options *),
			   const char *json, struct ctl_options opts,
			   const char *wanted)
{
	char *text = printed(print, json, &opts);

	cr_expect_str_eq(text, wanted, "printed:\n%swanted:\n%s", text, wanted);
	free(text);
}

static void expect_member(struct json_object *object, const char *key,
			  const char *wanted)
{
	struct json_object *member = json_object_object_get(object, key);
	const char *text = json_object_to_json_string(member);

	cr_expect(json_object_object_get_ex(object, key, NULL), "%s", key);
	cr_expect_str_eq(text, wanted, "%s is %s, not %s", key, text, wanted);
}

Test(fields, read__takes_every_type)
{
	static const char *const names[] = { NULL, "one" };
	static const struct ctl_field fields[] = {
		{ 1, CTL_U8, "u8", NULL, 0 },
		{ 2, CTL_U16, "u16", NULL, 0 },
		{ 3, CTL_U32, "u32", NULL, 0 },
		{ 4, CTL_U64, "u64", NULL, 0 },
		{ 5, CTL_ID, "id", NULL, 0 },
		{ 6, CTL_NAME, "name", names, 2 },
		{ 7, CTL_STRING, "string", NULL, 0 },
		{ 8, CTL_ADDR, "addr4", NULL, 0 },
		{ 9, CTL_ADDR, "addr6", NULL, 0 },
		{ 10, CTL_BYTES, "bytes", NULL, 0 },
	};
	struct json_object *object;
	struct message m;

	message_init(&m);
	nla_put_u8(m.msg, 1, 0xff);
	nla_put_u16(m.msg, 2, 0xffff);
	nla_put_u32(m.msg, 3, 0xffffffff);
	nla_put_u64(m.msg, 4, UINT64_MAX);
	nla_put_u64(m.msg, 5, 0x100000000001);
	nla_put_u8(m.msg, 6, 1);
	nla_put_string(m.msg, 7, "a \"word\"");
	nla_put(m.msg, 8, 4, "\x0a\x4d\x00\x01");
	nla_put(m.msg, 9, 16, "\xfd\x77\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
	nla_put(m.msg, 10, 3, "\x00\x7f\xff");
	message_parse(&m, 10);

	object = ctl_fields_read(m.attrs, fields, 10);

	expect_member(object, "u8", "255");
	expect_member(object, "u16", "65535");
	expect_member(object, "u32", "4294967295");
	expect_member(object, "u64", "18446744073709551615");
	expect_member(object, "id", "\"0000100000000001\"");
	expect_member(object, "name", "\"one\"");
	expect_member(object, "string", "\"a \\\"word\\\"\"");
	expect_member(object, "addr4", "\"10.77.0.1\"");
	expect_member(object, "addr6", "\"fd77::1\"");
	expect_member(object, "bytes", "\"007fff\"");
	json_object_put(object);
	message_clean(&m);
}

Test(fields, read__is_null_when_absent_or_of_another_length)
{
	static const struct ctl_field fields[] = {
		{ 1, CTL_U32, "absent", NULL, 0 },
		{ 2, CTL_U64, "short", NULL, 0 },
		{ 3, CTL_ADDR, "odd", NULL, 0 },
		{ 4, CTL_BYTES, "long", NULL, 0 },
	};
	static const char zeros[65];
	struct json_object *object;
	struct message m;

	message_init(&m);
	nla_put_u32(m.msg, 2, 7);
	nla_put(m.msg, 3, 5, "12345");
	nla_put(m.msg, 4, 65, zeros);
	message_parse(&m, 4);

	object = ctl_fields_read(m.attrs, fields, 4);

	for (size_t i = 0; i < 4; i++)
		expect_member(object, fields[i].key, "null");
	cr_expect_eq(ctl_number(object, "absent"), 0);
	cr_expect_str_eq(ctl_string(object, "absent"), "");
	json_object_put(object);
	message_clean(&m);
}

Test(fields, read__shows_the_number_of_an_unknown_name)
{
	static const char *const names[] = { NULL, "one" };
	static const struct ctl_field fields[] = {
		{ 1, CTL_NAME, "hole", names, 2 },
		{ 2, CTL_NAME, "beyond", names, 2 },
	};
	struct json_object *object;
	struct message m;

	message_init(&m);
	nla_put_u8(m.msg, 1, 0);
	nla_put_u8(m.msg, 2, 200);
	message_parse(&m, 2);

	object = ctl_fields_read(m.attrs, fields, 2);

	expect_member(object, "hole", "\"0\"");
	expect_member(object, "beyond", "\"200\"");
	json_object_put(object);
	message_clean(&m);
}

Test(fields, read__ends_a_string_at_its_attribute)
{
	static const struct ctl_field fields[] = {
		{ 1, CTL_STRING, "open", NULL, 0 },
	};
	struct json_object *object;
	struct message m;

	message_init(&m);
	nla_put(m.msg, 1, 3, "abc");
	message_parse(&m, 1);

	object = ctl_fields_read(m.attrs, fields, 1);

	expect_member(object, "open", "\"abc\"");
	json_object_put(object);
	message_clean(&m);
}

Test(fields, json_print__puts_nothing_on_one_line)
{
	struct json_object *none = json_object_new_array();
	char text[16] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	ctl_json_print(out, none);
	fclose(out);
	json_object_put(none);
	cr_expect_str_eq(text, "[]\n");
}

Test(table, size__is_exact_or_has_a_unit)
{
	static const struct {
		uint64_t bytes;
		const char *exact, *human;
	} rows[] = {
		{ 0, "0", "0" },
		{ 1023, "1023", "1023" },
		{ 1024, "1024", "1.0K" },
		{ 1536, "1536", "1.5K" },
		{ 1048575, "1048575", "1.0M" },
		{ 123456789012, "123456789012", "115.0G" },
		{ UINT64_MAX, "18446744073709551615", "16.0E" },
	};
	char text[CTL_SIZE_LEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_expect_str_eq(ctl_size(text, rows[i].bytes, false), rows[i].exact);
		cr_expect_str_eq(ctl_size(text, rows[i].bytes, true), rows[i].human);
	}
}

/* A connection over UD, one over TCP, a listener, a connection within the host. */
#define CONNS \
	"[{'state':'ESTAB','carrier':'ud','role':'client'," \
	"'local_addr':'10.77.0.1','local_port':40000," \
	"'peer_addr':'10.77.0.2','peer_port':5201," \
	"'tx_rdma':123456789012,'rx_rdma':17,'tx_local':0,'rx_local':0,'tx_tcp':0,'rx_tcp':0,'reason':null}," \
	"{'state':'ESTAB','carrier':'tcp','role':'server'," \
	"'local_addr':'fd77::1','local_port':80," \
	"'peer_addr':'fd77::2','peer_port':40001," \
	"'tx_rdma':0,'rx_rdma':0,'tx_local':0,'rx_local':0,'tx_tcp':100,'rx_tcp':2000,'reason':'plain-client'," \
	"'processes':[{'name':'nginx','pid':7,'fd':3},{'name':'nginx','pid':8,'fd':3}]}," \
	"{'state':'LISTEN','carrier':'none','role':'listener'," \
	"'local_addr':'::','local_port':6379,'peer_addr':'::','peer_port':0," \
	"'tx_rdma':0,'rx_rdma':0,'tx_local':0,'rx_local':0,'tx_tcp':0,'rx_tcp':0," \
	"'reason':null}," \
	"{'state':'ESTAB','carrier':'local','role':'client'," \
	"'local_addr':'127.0.0.1','local_port':40002," \
	"'peer_addr':'127.0.0.1','peer_port':6379," \
	"'tx_rdma':0,'rx_rdma':0,'tx_local':4096,'rx_local':5,'tx_tcp':0,'rx_tcp':0," \
	"'reason':null}]"

Test(show, read__has_all_keys)
{
	struct json_object *conn;
	struct message m;

	message_init(&m);
	nla_put_u8(m.msg, KRCORE_CONN_A_STATE, 8);
	nla_put_u8(m.msg, KRCORE_CONN_A_CARRIER, KRCORE_CARRIER_TCP);
	nla_put_u8(m.msg, KRCORE_CONN_A_ROLE, KRCORE_ROLE_SERVER);
	nla_put_u16(m.msg, KRCORE_CONN_A_SPORT, 65535);
	nla_put_string(m.msg, KRCORE_CONN_A_REASON, "nat");
	message_parse(&m, KRCORE_CONN_A_MAX);

	conn = ctl_show_read(m.attrs);

	expect_member(conn, "state", "\"CLOSE-WAIT\"");
	expect_member(conn, "carrier", "\"tcp\"");
	expect_member(conn, "role", "\"server\"");
	expect_member(conn, "local_port", "65535");
	expect_member(conn, "reason", "\"nat\"");
	expect_member(conn, "vqp", "null");
	expect_member(conn, "inode", "null");
	json_object_put(conn);
	message_clean(&m);
}

Test(show, read__names_each_carrier)
{
	static const char *const words[__KRCORE_CARRIER_END] = {
		"\"none\"", "\"ud\"", "\"rc\"", "\"local\"", "\"tcp\"", "\"tcp-lane\"",
	};

	for (uint8_t i = 0; i < __KRCORE_CARRIER_END; i++) {
		struct json_object *conn;
		struct message m;

		message_init(&m);
		nla_put_u8(m.msg, KRCORE_CONN_A_CARRIER, i);
		message_parse(&m, KRCORE_CONN_A_MAX);
		conn = ctl_show_read(m.attrs);
		expect_member(conn, "carrier", words[i]);
		json_object_put(conn);
		message_clean(&m);
	}
}

Test(show, print__lines_up)
{
	expect_printed(ctl_show_print, CONNS, (struct ctl_options){ 0 },
"State   Carrier  Local            Peer                  Tx-RDMA  Rx-RDMA  Tx-local  Rx-local  Tx-TCP  Rx-TCP  Reason\n"
"ESTAB   ud       10.77.0.1:40000  10.77.0.2:5201   123456789012       17         0         0       0       0  -\n"
"ESTAB   tcp      [fd77::1]:80     [fd77::2]:40001             0        0         0         0     100    2000  plain-client\n"
"LISTEN  none     [::]:6379        [::]:*                      0        0         0         0       0       0  -\n"
"ESTAB   local    127.0.0.1:40002  127.0.0.1:6379              0        0      4096         5       0       0  -\n");
}

Test(show, print__adds_units_and_processes)
{
	struct ctl_options opts = { .is_human = true, .with_processes = true };

	expect_printed(ctl_show_print, CONNS, opts,
"State   Carrier  Local            Peer             Tx-RDMA  Rx-RDMA  Tx-local  Rx-local  Tx-TCP  Rx-TCP  Reason        Process\n"
"ESTAB   ud       10.77.0.1:40000  10.77.0.2:5201    115.0G       17         0         0       0       0  -\n"
"ESTAB   tcp      [fd77::1]:80     [fd77::2]:40001        0        0         0         0     100    2.0K  plain-client  nginx(pid 7, fd 3) nginx(pid 8, fd 3)\n"
"LISTEN  none     [::]:6379        [::]:*                 0        0         0         0       0       0  -\n"
"ESTAB   local    127.0.0.1:40002  127.0.0.1:6379         0        0      4.0K         5       0       0  -\n");
}

Test(show, print__is_a_head_alone_without_connections)
{
	expect_printed(ctl_show_print, "[]", (struct ctl_options){ 0 },
"State  Carrier  Local  Peer  Tx-RDMA  Rx-RDMA  Tx-local  Rx-local  Tx-TCP  Rx-TCP  Reason\n");
}

static void put_item(struct nl_msg *msg, const char *name, uint64_t value)
{
	struct nlattr *item = nla_nest_start(msg, 1);

	nla_put_string(msg, KRCORE_COUNTER_A_NAME, name);
	nla_put_u64(msg, KRCORE_COUNTER_A_VALUE, value);
	nla_nest_end(msg, item);
}

Test(stat, flatten__is_one_flat_object)
{
	struct json_object *answer, *flat;
	struct nlattr *list, *item;
	struct message m;

	message_init(&m);
	nla_put_string(m.msg, KRCORE_STATS_A_VERSION, "0.1");
	list = nla_nest_start(m.msg, KRCORE_STATS_A_COUNTERS);
	put_item(m.msg, "conns_rdma", 12);
	put_item(m.msg, "conns_tcp", 0);
	nla_nest_end(m.msg, list);
	list = nla_nest_start(m.msg, KRCORE_STATS_A_FALLBACKS);
	item = nla_nest_start(m.msg, 1);
	nla_put_string(m.msg, KRCORE_FALLBACK_A_TOKEN, "nat");
	nla_put_string(m.msg, KRCORE_FALLBACK_A_TEXT, "there is a NAT");
	nla_put_u64(m.msg, KRCORE_FALLBACK_A_COUNT, 3);
	nla_nest_end(m.msg, item);
	nla_nest_end(m.msg, list);
	message_parse(&m, KRCORE_STATS_A_MAX);

	answer = ctl_stat_read(m.attrs);
	flat = ctl_stat_flatten(answer);

	cr_expect_str_eq(json_object_to_json_string_ext(flat, JSON_C_TO_STRING_PLAIN),
			 "{\"conns_rdma\":12,\"conns_tcp\":0,"
			 "\"fallbacks\":{\"nat\":3},\"version\":\"0.1\"}");
	json_object_put(flat);
	json_object_put(answer);
	message_clean(&m);
}

Test(stat, read__does_without_lists)
{
	struct json_object *answer;
	struct message m;

	message_init(&m);
	message_parse(&m, KRCORE_STATS_A_MAX);

	answer = ctl_stat_read(m.attrs);

	cr_expect_str_eq(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN),
			 "{\"version\":null,\"counters\":[],\"fallbacks\":[]}");
	json_object_put(answer);
	message_clean(&m);
}

#define STATS \
	"{'version':'0.1','counters':[{'name':'conns_rdma','value':12}," \
	"{'name':'conns_tcp','value':0},{'name':'tx_bytes_rdma','value':2048}]," \
	"'fallbacks':[{'token':'nat','text':'there is a NAT','count':3}," \
	"{'token':'self','text':'the peer is this host','count':0}]}"

Test(stat, print__leaves_zeros_out)
{
	expect_printed(ctl_stat_print, STATS, (struct ctl_options){ 0 },
		       "krcore 0.1\n"
		       "conns_rdma       12\n"
		       "tx_bytes_rdma  2048\n"
		       "TCP instead of RDMA:\n"
		       "  nat  3  there is a NAT\n");
}

Test(stat, print__shows_all_with_units)
{
	struct ctl_options opts = { .is_human = true, .with_all = true };

	expect_printed(ctl_stat_print, STATS, opts,
		       "krcore 0.1\n"
		       "conns_rdma       12\n"
		       "conns_tcp         0\n"
		       "tx_bytes_rdma  2.0K\n"
		       "TCP instead of RDMA:\n"
		       "  nat   3  there is a NAT\n"
		       "  self  0  the peer is this host\n");
}

Test(stat, print__says_nothing_of_reasons_that_there_are_none_of)
{
	expect_printed(ctl_stat_print,
		       "{'version':'0.1','counters':[],'fallbacks':[]}",
		       (struct ctl_options){ 0 }, "krcore 0.1\n");
}

Test(host, print__groups_the_fields)
{
	expect_printed(ctl_host_print,
		       "[{'instance':'0123','path':'READY','vqps':3,'dev':'rxe0',"
		       "'mtu':4096,'lgid':'fd77::1','lqpn':17,'rgid':'fd77::2',"
		       "'rqpn':18,'srtt_us':700,'rttvar_us':100,'cwnd':32,"
		       "'inflight':2,'tx_packets':10,'tx_bytes':2048,"
		       "'rx_packets':30,'rx_bytes':40,'lost':1,'spurious':0,"
		       "'pto':0,'dup':2,'malformed':0,'refused':0,'unknown':0,'lanes':2}]",
		       (struct ctl_options){ .is_human = true },
		       "host 0123 path READY vqps 3\n"
		       "    dev rxe0 mtu 4096 lgid fd77::1 lqpn 17 rgid fd77::2 rqpn 18\n"
		       "    srtt_us 700 rttvar_us 100 cwnd 32 inflight 2\n"
		       "    tx_packets 10 tx_bytes 2.0K rx_packets 30 rx_bytes 40\n"
		       "    lost 1 spurious 0 pto 0 dup 2 malformed 0 refused 0 unknown 0 lanes 2\n");
}

Test(host, print__has_no_line_for_no_path)
{
	expect_printed(ctl_host_print,
		       "[{'instance':'0123','path':'NONE','vqps':0,'dev':null,"
		       "'srtt_us':0,'tx_packets':0,'lost':0}]",
		       (struct ctl_options){ 0 },
		       "host 0123 path NONE vqps 0\n"
		       "    srtt_us 0\n"
		       "    tx_packets 0\n"
		       "    lost 0\n");
}

Test(host, print__says_that_there_are_none)
{
	expect_printed(ctl_host_print, "[]", (struct ctl_options){ 0 },
		       "no remote hosts\n");
}

Test(dev, print__lines_up)
{
	expect_printed(ctl_dev_print,
		       "[{'dev':'rxe0','qpn':17,'mtu':4096,'tx_packets':1,"
		       "'tx_bytes':4096,'rx_packets':2,'rx_bytes':5,'tx_no_slot':0,"
		       "'rx_errors':0,'qp_rebuilt':0}]",
		       (struct ctl_options){ .is_human = true },
"Device  QPN   MTU  Tx-packets  Tx-bytes  Rx-packets  Rx-bytes  Tx-no-slot  Rx-errors  QP-rebuilt\n"
"rxe0     17  4096           1      4.0K           2         5           0          0           0\n");
}

Test(qp, read__has_all_keys)
{
	struct json_object *qp;
	struct message m;

	message_init(&m);
	nla_put_u64(m.msg, KRCORE_QP_A_HOST, 0x0123456789abcdef);
	nla_put_string(m.msg, KRCORE_QP_A_KIND, "rc");
	nla_put_string(m.msg, KRCORE_QP_A_DEV, "rxe0");
	nla_put_u32(m.msg, KRCORE_QP_A_LOCAL_QPN, 17);
	nla_put_u32(m.msg, KRCORE_QP_A_REMOTE_QPN, 18);
	nla_put_string(m.msg, KRCORE_QP_A_STATE, "DOUBT");
	nla_put_u8(m.msg, KRCORE_QP_A_ASKED, 1);
	nla_put_u32(m.msg, KRCORE_QP_A_VQPS, 3);
	nla_put_u32(m.msg, KRCORE_QP_A_CREDITS, 32);
	nla_put_u32(m.msg, KRCORE_QP_A_INFLIGHT, 5);
	nla_put_u64(m.msg, KRCORE_QP_A_TX_BYTES, UINT64_MAX);
	nla_put_u64(m.msg, KRCORE_QP_A_RX_BYTES, 7);
	nla_put_u64(m.msg, KRCORE_QP_A_AGE_MS, 8);
	nla_put_u64(m.msg, KRCORE_QP_A_IDLE_MS, 9);
	nla_put_u64(m.msg, KRCORE_QP_A_DOUBTS, 1);
	message_parse(&m, KRCORE_QP_A_MAX);

	qp = ctl_qp_read(m.attrs);

	cr_expect_str_eq(json_object_to_json_string_ext(qp, JSON_C_TO_STRING_PLAIN),
			 "{\"host\":\"0123456789abcdef\",\"kind\":\"rc\",\"state\":\"DOUBT\","
			 "\"dev\":\"rxe0\",\"lqpn\":17,\"rqpn\":18,\"asked_by\":\"us\","
			 "\"vqps\":3,\"credits\":32,\"inflight\":5,"
			 "\"tx_bytes\":18446744073709551615,\"rx_bytes\":7,"
			 "\"age_ms\":8,\"idle_ms\":9,\"doubts\":1}");
	json_object_put(qp);
	message_clean(&m);
}

Test(qp, read__is_null_where_tcp_has_nothing)
{
	struct json_object *qp;
	struct message m;

	message_init(&m);
	nla_put_string(m.msg, KRCORE_QP_A_KIND, "tcp");
	nla_put_u8(m.msg, KRCORE_QP_A_ASKED, 0);
	message_parse(&m, KRCORE_QP_A_MAX);

	qp = ctl_qp_read(m.attrs);

	expect_member(qp, "kind", "\"tcp\"");
	expect_member(qp, "asked_by", "\"peer\"");
	expect_member(qp, "dev", "null");
	expect_member(qp, "lqpn", "null");
	expect_member(qp, "rqpn", "null");
	json_object_put(qp);
	message_clean(&m);
}

/* An RC QP, and a TCP connection that is being set up. */
#define QPS \
	"[{'host':'0123456789abcdef','kind':'rc','state':'UP','dev':'rxe0'," \
	"'lqpn':17,'rqpn':1018,'asked_by':'us','vqps':3,'credits':32," \
	"'inflight':5,'tx_bytes':123456789012,'rx_bytes':2048,'age_ms':61000," \
	"'idle_ms':4,'doubts':1}," \
	"{'host':'fedcba9876543210','kind':'tcp','state':'SETUP','dev':null," \
	"'lqpn':null,'rqpn':null,'asked_by':'peer','vqps':0,'credits':0," \
	"'inflight':0,'tx_bytes':0,'rx_bytes':0,'age_ms':7,'idle_ms':7,'doubts':0}]"

Test(qp, print__lines_up)
{
	expect_printed(ctl_qp_print, QPS, (struct ctl_options){ 0 },
"Host              Kind  State  Device  QPN  Peer-QPN  Asked-by  VQPs  Credits  In-flight      Tx-bytes  Rx-bytes  Age-ms  Idle-ms  Doubts\n"
"0123456789abcdef  rc    UP     rxe0     17      1018  us           3       32          5  123456789012      2048   61000        4       1\n"
"fedcba9876543210  tcp   SETUP  -         -         -  peer         0        0          0             0         0       7        7       0\n");
}

Test(qp, print__has_units)
{
	expect_printed(ctl_qp_print, QPS, (struct ctl_options){ .is_human = true },
"Host              Kind  State  Device  QPN  Peer-QPN  Asked-by  VQPs  Credits  In-flight  Tx-bytes  Rx-bytes  Age-ms  Idle-ms  Doubts\n"
"0123456789abcdef  rc    UP     rxe0     17      1018  us           3       32          5    115.0G      2.0K   61000        4       1\n"
"fedcba9876543210  tcp   SETUP  -         -         -  peer         0        0          0         0         0       7        7       0\n");
}

Test(qp, print__is_a_head_alone_when_there_are_none)
{
	expect_printed(ctl_qp_print, "[]", (struct ctl_options){ 0 },
"Host  Kind  State  Device  QPN  Peer-QPN  Asked-by  VQPs  Credits  In-flight  Tx-bytes  Rx-bytes  Age-ms  Idle-ms  Doubts\n");
}
