-- Record cost units with what judge learned; 0 makes the same counter good from now on. What comes of it: the time until
-- a unit is free if none was used before, and the mark of the new entries. Small changes in place cost Redis less than
-- new values with a time to live.
if kind == 1 then
  if #a > 1 then
    mark = (byte(a, #a) + 1) % 128
  end
  local entries = cost == 1 and pack('>I7B', now, mark) or rep(pack('>I7B', now, mark), cost)
  local left = (b - 2) / 8
  if stepped or left > 8 + used / 4 then
    call('SET', key, 'L' .. sub(a, b) .. entries)
  else
    call('APPEND', key, a == '' and 'L' .. entries or entries)
  end
  call('PEXPIRE', key, ttl)
  first_wait = span
elseif kind == 2 then
  local width = floor(span / 60)
  local begin, units = now, cost
  if a ~= '' then
    local newest, counted = parse('>I7I6', a, #a - 12)
    if newest + width > now then
      begin, units, a = newest, counted + cost, sub(a, 1, -14)
    end
  end
  call('SET', key, 'S' .. pack('>I7', used + cost) .. a .. pack('>I7I6', begin, units), 'PX', ttl)
  first_wait = begin + width - 1 + span - now
elseif kind == 3 then
  local whole, part = refill_time(cost, span)
  local lack = a + whole
  part = b + part
  if part >= span then
    lack, part = lack + 1, part - span
  end
  call('SETRANGE', key, '0', 'B' .. pack('>I7I7I6I6', now, lack, part, span))
  if lack >= (ttl - grace) * 1000 then
    ttl = ceil((lack + 1) / 1000) + grace
  end
  call('PEXPIRE', key, ttl)
  whole, part = refill_time(1, span)
  first_wait = whole + (part > 0 and 1 or 0)
else
  first_wait = a + span - now
  call('SET', key, 'W' .. pack('>I7I7', a, used + cost), 'PX', ceil(first_wait / 1000) + grace)
end
