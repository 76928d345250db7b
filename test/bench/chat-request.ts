/** The chat that loads on bare sockets send, from their environment. */
export const url = new URL(process.env.URL_!);

export const request = Buffer.from(
  `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
    `authorization: Bearer ${process.env.API_KEY}\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: ${process.env.ENGINE_URL}/v1\r\n` +
    `content-length: ${Buffer.byteLength(process.env.BODY!)}\r\n\r\n${process.env.BODY}`,
);
