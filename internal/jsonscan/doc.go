// Package jsonscan reads JSON text where it stands: one linear walk that checks the grammar of RFC 8259 and gives out
// spans, without recursion and without a copy. It also writes and reads JSON strings.
//
// The walk is strict: no trailing commas, no leading zeros, no NaN, no byte order mark, no control characters in
// strings, nothing behind the value. Beyond the grammar it refuses text nested deeper than [MaxDepth], and strings that
// are not UTF-8 (RFC 8259, section 8.1): engines refuse those too, and for ASCII the check costs nothing. Escapes of
// single surrogates ("\ud800") are grammar (section 8.2) and pass; decoded they are U+FFFD, as encoding/json has it.
package jsonscan
