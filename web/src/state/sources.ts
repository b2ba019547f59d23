/** Where something was seen: on the wire, or only in what somebody reported. */

const WORDS: Record<string, string> = { wire: "the wire", transcript: "a transcript", stream: "the client's stream", hook: "a hook" };

export const sourceWords = (source: string): string => WORDS[source] ?? source;
