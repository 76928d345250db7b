-- Writes one replica's heartbeat and answers all live ones as a JSON list. KEYS: the deployment's heartbeats. ARGV: pod, its
-- heartbeat as a JSON object without `at`.
register('heartbeat', { least = 2, bytes = 4096 }, function(keys, args)
  local words = {}
  for _, word in pairs(speak(keys[1], MAX_WORDS_BYTES, args[1], args[2])) do
    words[#words + 1] = word
  end
  return '[' .. table.concat(words, ',') .. ']'
end)

-- All live heartbeats, for readers that are no replica. KEYS: the deployment's heartbeats.
register_reader('heartbeats', { least = 0, bytes = 1024 }, function(keys)
  return list_live(read_words(keys[1], MAX_WORDS_BYTES), now_ms())
end)
