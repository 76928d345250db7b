/** `chat-proof.ts BASE_URL API_KEY MODEL`: one chat, as from a user's program; prints the response. */
import OpenAI from 'openai';

const [baseURL, apiKey, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL: baseURL!, apiKey: apiKey! });
const answer = await client.chat.completions.create({
  model: model!,
  messages: [{ role: 'user', content: 'Say hello.' }],
  max_tokens: 16,
});
console.log(answer.choices[0]!.message.content);
