-- Authenticates an API key and, if asked, checks credit and limits and counts one request.
-- KEYS: the key's RPM counter. ARGV: namespace, SHA-256 of the key, '1' to count.
-- Configuration is read undeclared: a tenant may only read it, and declared keys must be writable.
register('admit', function(keys, args)
  local namespace, sha256, counted = args[1], args[2], args[3] == '1'
  local text = redis.call('HGET', 'c:{' .. namespace .. '}:apikeys', sha256)
  if not text then
    return { 'unknown_key', '', 0, 0, 0, 0, 0, 0, 0, 0, 0 }
  end

  local key = cjson.decode(text)
  local now = now_ms()
  local seconds = math.floor(now / SECOND_MS)
  local day = math.floor(seconds / DAY_SECONDS)
  local day_reset = (day + 1) * DAY_SECONDS
  local used = tonumber(redis.call('GET', tpd_key(namespace, sha256, day)) or 0)
  local granted = redis.call('HGET', 'c:{' .. namespace .. '}:workspace', 'creditMicros')
  local credit_left = not granted
    or tonumber(redis.call('GET', 'w:{' .. namespace .. '}:credit') or 0) < tonumber(granted)

  -- `taken` and `ttl` describe the minute's window: its requests so far and what is left of it.
  local function answer(verdict, taken, ttl, retry_after)
    return {
      verdict, key.n, key.exp, credit_left and 1 or 0,
      key.rpm, math.max(0, key.rpm - taken), math.ceil((now + ttl) / SECOND_MS),
      key.tpd, used, day_reset, retry_after,
    }
  end
  local function answer_uncounted(verdict, retry_after)
    local ttl = redis.call('PTTL', keys[1])
    if ttl <= 0 then
      return answer(verdict, 0, MINUTE_MS, retry_after)
    end
    return answer(verdict, tonumber(redis.call('GET', keys[1]) or 0), ttl, retry_after)
  end

  if key.off == 1 then
    return answer_uncounted('disabled', 0)
  end
  if key.exp > 0 and now >= key.exp * SECOND_MS then
    return answer_uncounted('expired', 0)
  end
  if not counted then
    return answer_uncounted('ok', 0)
  end
  if not credit_left then
    return answer_uncounted('credit', 0)
  end
  if used >= key.tpd then
    return answer_uncounted('tpd', day_reset - seconds)
  end

  local taken = redis.call('INCR', keys[1])
  local ttl = redis.call('PTTL', keys[1])
  if ttl < 0 then
    redis.call('PEXPIRE', keys[1], MINUTE_MS)
    ttl = MINUTE_MS
  end
  if taken > key.rpm then
    -- Taken back, so that a limit raised within the window counts served requests only.
    redis.call('DECR', keys[1])
    return answer('rpm', taken - 1, ttl, math.max(1, math.ceil(ttl / SECOND_MS)))
  end
  return answer('ok', taken, ttl, 0)
end)
