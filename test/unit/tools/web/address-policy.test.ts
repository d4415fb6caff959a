import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../../src/tools/web/address-policy.js';
import { parseWebUrl } from '../../../../src/tools/web/web-url.js';

const PRIVATE = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.0.9', '::1'],
  private: ['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'link-local': ['169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0'],
  shared: ['100.64.0.1', '100.127.255.255'],
  'unique local and site-local': ['fc00::1', 'fd00:ec2::254', 'fec0::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '192.0.0.1', '198.18.0.1', '4000::1', '5f00::1', '100::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:a00:1', '::ffff:169.254.169.254'],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b::169.254.169.254', '64:ff9b:1::8.8.8.8'],
  'tunnelled IPv4': ['2002:7f00:1::', '2002:808:808::', '2001::1'],
  'not an address': ['', 'localhost', '8.8.8.8.example', '2130706433', '0x7f.1', '[::1]'],
};

describe('the public addresses', () => {
  it.each(Object.entries(PRIVATE))('leave out what is %s', (_kind, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'have %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0/',
    'http://127.0.0.1./',
    'http://①②⑦.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[0:0:0:0:0:ffff:7f00:0001]/',
  ])('leave out the spelling %s', (url) => {
    expect(isPublicAddress(parseWebUrl(url).hostname.replace(/^\[|\]$/g, ''))).toBe(false);
  });
});
