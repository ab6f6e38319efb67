// SPDX-License-Identifier: MIT
/* From the attributes of a message to a JSON object, by a table of fields. */
#include "krcorectl.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

static uint64_t number(const struct nlattr *attr, size_t len)
{
	uint64_t value = 0;

	/* The kernel's byte order is ours: each size has its own type. */
	switch (len) {
	case 1:
		return *(const uint8_t *)nla_data(attr);
	case 2: {
		uint16_t v;

		memcpy(&v, nla_data(attr), sizeof(v));
		return v;
	}
	case 4: {
		uint32_t v;

		memcpy(&v, nla_data(attr), sizeof(v));
		return v;
	}
	default:
		memcpy(&value, nla_data(attr), sizeof(value));
		return value;
	}
}

static size_t number_len(enum ctl_type type)
{
	switch (type) {
	case CTL_U8:
	case CTL_NAME:
		return 1;
	case CTL_U16:
		return 2;
	case CTL_U32:
		return 4;
	case CTL_U64:
	case CTL_ID:
		return 8;
	case CTL_STRING:
	case CTL_ADDR:
	case CTL_BYTES:
		break;
	}
	return 0;
}

static struct json_object *new_number(const struct ctl_field *f, uint64_t value)
{
	char text[32];

	if (f->type == CTL_ID) {
		snprintf(text, sizeof(text), "%016" PRIx64, value);
		return json_object_new_string(text);
	}
	if (f->type != CTL_NAME)
		return json_object_new_uint64(value);
	if (value < f->nr_names && f->names[value])
		return json_object_new_string(f->names[value]);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return json_object_new_string(text);
}

static struct json_object *new_addr(const void *from, size_t len)
{
	char text[INET6_ADDRSTRLEN];

	if (len != 4 && len != 16)
		return NULL;
	inet_ntop(len == 4 ? AF_INET : AF_INET6, from, text, sizeof(text));
	return json_object_new_string(text);
}

static struct json_object *new_bytes(const uint8_t *from, size_t len)
{
	char text[2 * 64 + 1] = "";

	if (len > 64)
		return NULL;
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", from[i]);
	return json_object_new_string(text);
}

static struct json_object *read_field(const struct ctl_field *f,
				      const struct nlattr *attr)
{
	size_t len = (size_t)nla_len(attr);
	const char *data = nla_data(attr);
	size_t wanted = number_len(f->type);

	if (wanted)
		return len == wanted ? new_number(f, number(attr, len)) : NULL;
	if (f->type == CTL_STRING)
		return json_object_new_string_len(data, (int)strnlen(data, len));
	return f->type == CTL_ADDR ? new_addr(data, len) :
	       new_bytes((const uint8_t *)data, len);
}

struct json_object *ctl_fields_read(struct nlattr **attrs,
				    const struct ctl_field *fields, size_t nr)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < nr; i++) {
		const struct nlattr *attr = attrs[fields[i].attr];

		json_object_object_add(object, fields[i].key,
				       attr ? read_field(&fields[i], attr) : NULL);
	}
	return object;
}

uint64_t ctl_number(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_object_get(object, key));
}

const char *ctl_string(struct json_object *object, const char *key)
{
	struct json_object *member = json_object_object_get(object, key);

	return member ? json_object_get_string(member) : "";
}

void ctl_json_print(FILE *out, struct json_object *answer)
{
	int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		    JSON_C_TO_STRING_NOSLASHESCAPE;

	/* An empty array would be two lines. */
	if (json_object_is_type(answer, json_type_array) &&
	    json_object_array_length(answer) == 0)
		flags = JSON_C_TO_STRING_PLAIN;
	fputs(json_object_to_json_string_ext(answer, flags), out);
	fputc('\n', out);
}
