"""``python -m tenferro bench``: this library beside whichever other ones are installed, on the same work.

`table` lists the workloads, `models` has their functions and data, `reference` the derivatives written by hand with NumPy,
`peers` what differs between libraries, `worker` the process of one of them, `driver` the interleaving, `report` the table
and the picture.
"""
