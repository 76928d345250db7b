-- Writes one replica's heartbeat, or one front's share of the demand, and answers all live ones of the deployment as a JSON
-- list; those too old are dropped. KEYS: the hash of either. ARGV: the speaker's pod, its word.
-- What did not change is not written again: that is most of what the append-only file would hold.
register('heartbeat', { least = 2, bytes = 4096 }, function(keys, args)
  local pod, own = args[1], args[2]
  local now = now_ms()
  if not is_short(keys[1], MAX_WORDS_BYTES) then
    redis.call('UNLINK', keys[1])
  end
  local fields = read_words(keys[1])
  if fields[pod] ~= own then
    redis.call('HSET', keys[1], pod, own)
    fields[pod] = own
  end
  fields['@' .. pod] = string.format('%.0f', now)
  redis.call('HSET', keys[1], '@' .. pod, fields['@' .. pod])
  if redis.call('PTTL', keys[1]) < MINUTE_MS then
    redis.call('PEXPIRE', keys[1], 3 * MINUTE_MS)
  end

  local live = {}
  for field in pairs(fields) do
    if string.sub(field, 1, 1) == '@' then
      if not fields[string.sub(field, 2)] then
        redis.call('HDEL', keys[1], field)
      end
    else
      local word = read_live(fields, field, now)
      if word then
        live[#live + 1] = word
      else
        redis.call('HDEL', keys[1], field, '@' .. field)
      end
    end
  end
  return '[' .. table.concat(live, ',') .. ']'
end)

-- All live heartbeats, for readers that are no replica. KEYS: the deployment's heartbeats.
register_reader('heartbeats', { least = 0, bytes = 1024 }, function(keys)
  return list_live(read_words(keys[1]), now_ms())
end)
