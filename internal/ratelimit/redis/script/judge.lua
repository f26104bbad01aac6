-- Judge the value of the key by limit, span (the window, or a bucket's refill) and cost. What is learned: the units used,
-- or nil for a value of another shape; the time until fewer are used; the time until the cost fits, if it does not;
-- whether the value was moved because the clock was set back; and what record needs: of a log the value, where its live
-- part begins, and the next mark; the live segments; what a bucket lacks, as lack and part; when a window began.
local v, used, wait, retry, stepped, a, b, mark = pcall('GET', KEYS[i]), 0, 0, 0, false, nil, nil, 0
if v and v.err then
  v = ''
end
local size = v and #v
if kind == 1 then
  -- A unit at t counts while t > now − window.
  b = 2
  if v and (byte(v) ~= 76 or size % 8 ~= 1 or size > 8193) then
    used = nil
  elseif v and size > 1 then
    local newest, last = parse('>I7B', v, size - 7)
    mark, stepped = (last + 1) % 128, newest > now
    if stepped then
      v = shift(v, 2, 8)
    end
    local cut, oldest = now - span, parse('>I7', v, 2)
    if oldest <= cut then
      b = 10
      if size > 9 and parse('>I7', v, 10) <= cut then -- Mostly no more than one has left since the last call.
        b = live(v, 10, 8, cut)
      end
      oldest = b < size and parse('>I7', v, b)
    end
    used = (size + 1 - b) / 8
    if used > limit and limit > 0 then
      oldest = parse('>I7', v, b + 8 * (used - limit))
    end
    if used > 0 and limit > 0 then
      wait = oldest - cut
    end
    if cost > limit - used and cost <= limit then
      retry = parse('>I7', v, b + 8 * (used - limit + cost - 1)) - cut
    end
  end
  a = v
elseif kind == 2 then
  -- A segment begins with the first unit that no older one covers, spans a sixtieth of the window, and leaves as a
  -- whole when its last instant does.
  local kept = span + floor(span / 60) - 1
  a = ''
  if v and (byte(v) ~= 83 or size % 13 ~= 8 or size < 21 or size > 840) then
    used = nil
  elseif v then
    stepped = parse('>I7', v, size - 12) > now
    if stepped then
      v = shift(v, 9, 13)
    end
    used = parse('>I7', v, 2)
    local first, freed = live(v, 9, 13, now - kept), 0
    for p = 9, first - 1, 13 do
      used = used - parse('>I6', v, p + 7)
    end
    local waits, retries = used > 0 and limit > 0, cost > limit - used and cost <= limit
    for p = first, size, 13 do
      if not waits and not retries then
        break
      end
      local begin, units = parse('>I7I6', v, p)
      freed = freed + units
      if waits and used - freed < min(used, limit) then
        wait, waits = begin + kept - now, false
      end
      if retries and used - freed <= limit - cost then
        retry, retries = begin + kept - now, false
      end
    end
    used, a = max(0, used), sub(v, first)
  end
elseif kind == 3 then
  a, b = 0, 0
  if v and (byte(v) ~= 66 or size ~= 27) then
    used = nil
  elseif v then
    local at, refill
    at, a, b, refill = parse('>I7I7I6I6', v, 2)
    stepped = at > now
    a = a - max(0, now - at)
    if refill == 0 or b >= refill or refill_units(a, b, refill) > 2e12 then
      used = nil
    elseif a < 0 then
      a, b = 0, 0
    else
      if refill ~= span then
        a, b = refill_time(refill_units(a, b, refill), span)
        a = min(a, 2^53)
      end
      used = refill_units(a, b, span)
      if used > 0 and limit > 0 then
        local whole, part = refill_time(min(used, limit) - 1, span)
        wait = a - whole + (b > part and 1 or 0)
      end
      if cost > limit - used and cost <= limit then
        local whole, part = refill_time(limit - cost, span)
        retry = a - whole + (b > part and 1 or 0)
      end
    end
  end
else
  a = now
  if v and (byte(v) ~= 87 or size ~= 15) then
    used = nil
  elseif v then
    local begin
    begin, used = parse('>I7I7', v, 2)
    stepped = begin > now
    if stepped then
      begin = now
    end
    local rest = begin + span - now
    if rest <= 0 or used == 0 then
      used = 0
    else
      a, retry = begin, rest
      wait = limit > 0 and rest or 0
    end
  end
end
